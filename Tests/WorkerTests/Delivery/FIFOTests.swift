import Testing

@testable import Worker

@Suite("Waiting and in-flight pushes")
struct FIFOTests {
    @Test("What went in first comes out first, over many refills")
    func order() {
        var queue = FIFO<Int>()
        var next = 0
        var expected = 0
        for round in 0..<50 {
            for _ in 0..<(round * 7 % 97 + 100) {
                queue.append(next)
                next += 1
            }
            for _ in 0..<100 {
                #expect(queue.popFirst() == expected)
                expected += 1
            }
            #expect(queue.count == next - expected)
        }
        while let element = queue.popFirst() {
            #expect(element == expected)
            expected += 1
        }
        #expect(expected == next)
        #expect(queue.isEmpty)
    }

    @Test("Matching elements are taken out in order and the rest keeps its order")
    func removal() {
        var queue = FIFO<Int>()
        for number in 0..<10 { queue.append(number) }
        _ = queue.popFirst()
        #expect(queue.removeAll { $0 % 2 == 0 } == [2, 4, 6, 8])
        #expect(queue.count == 5)
        #expect(queue.popFirst() == 1)
    }

    @Test("A number is used again once its element is out, and answers only once")
    func slab() {
        var slab = Slab<String>()
        let first = slab.insert("a")
        let second = slab.insert("b")
        #expect(first != second)
        #expect(slab.remove(first) == "a")
        #expect(slab.remove(first) == nil)
        #expect(slab.insert("c") == first)
        #expect(slab.count == 2)
        #expect(slab.remove(99) == nil)
        #expect(slab.remove(-1) == nil)
    }
}
