import Testing

@testable import Worker

@Suite("Acknowledgements")
struct AcknowledgementsTests {
    @Test("Entries of one turn go in one batch")
    func batches() {
        var acknowledgements = Acknowledgements()
        let isFirst = acknowledgements.add([1])
        let isSecondFirst = acknowledgements.add([2])
        #expect(isFirst)
        #expect(!isSecondFirst)
        #expect(acknowledgements.takeBatch() == [[1], [2]])
        #expect(acknowledgements.takeBatch() == nil)
        #expect(!acknowledgements.isEmpty)
        acknowledgements.confirmed([[1], [2]])
        #expect(acknowledgements.isEmpty)
    }

    @Test("Batches without an answer are sent again after the connection was lost")
    func lost() {
        var acknowledgements = Acknowledgements()
        _ = acknowledgements.add([1])
        _ = acknowledgements.takeBatch()
        _ = acknowledgements.add([2])
        acknowledgements.connectionLost()
        #expect(acknowledgements.takeBatch() == [[1], [2]])
    }

    @Test("A batch that Redis refused goes with the next one")
    func refused() {
        var acknowledgements = Acknowledgements()
        _ = acknowledgements.add([1])
        _ = acknowledgements.takeBatch()
        _ = acknowledgements.add([2])
        acknowledgements.refused([[1]])
        #expect(acknowledgements.takeBatch() == [[1], [2]])
        #expect(!acknowledgements.isEmpty)
    }
}
