import Testing

@testable import Worker

@Suite("Removal brake")
struct RemovalBrakeTests {
    @Test("Nothing doubtful is removed before twenty answers are known")
    func needsAnswers() {
        var brake = RemovalBrake(maximumShare: 0.2)
        for _ in 0..<18 { brake.note(doubtful: false) }
        brake.note(doubtful: true)
        #expect(!brake.allowsRemoval)
        brake.note(doubtful: false)
        #expect(brake.allowsRemoval)
    }

    @Test("Removal stops above the share and resumes when it is low again")
    func stopsAndResumes() {
        var brake = RemovalBrake(maximumShare: 0.2)
        for _ in 0..<80 { brake.note(doubtful: false) }
        for _ in 0..<20 { brake.note(doubtful: true) }
        #expect(brake.allowsRemoval)
        brake.note(doubtful: true)
        #expect(!brake.allowsRemoval)
        for _ in 0..<10 { brake.note(doubtful: false) }
        #expect(brake.allowsRemoval)
    }

    @Test("Answers leave the window when newer ones come")
    func windowMoves() {
        var brake = RemovalBrake(maximumShare: 0.2)
        for _ in 0..<1000 { brake.note(doubtful: true) }
        for _ in 0..<RemovalBrake.windowLength { brake.note(doubtful: false) }
        #expect(brake.allowsRemoval)
    }

    @Test("With a share of 1 every doubtful removal is allowed once there are answers")
    func openBrake() {
        var brake = RemovalBrake(maximumShare: 1)
        for _ in 0..<RemovalBrake.minimumAnswers { brake.note(doubtful: true) }
        #expect(brake.allowsRemoval)
    }
}
