import Testing
import Transport

@testable import Worker

@Suite("Until when a worker may send")
struct SignsOfLifeTests {
    private static func at(_ milliseconds: Int) -> LoopInstant {
        LoopInstant(nanoseconds: 1_000_000_000_000) + .milliseconds(milliseconds)
    }

    private enum Event {
        case beat(Int)
        case confirmed(EntryStream.Kind, Int)
        case lost
    }

    private func until(_ events: [Event]) -> LoopInstant {
        var signs = SignsOfLife(now: Self.at(0))
        for event in events {
            switch event {
            case .beat(let time): _ = signs.beat(now: Self.at(time))
            case .confirmed(let kind, let time): signs.confirm(kind, sentAt: Self.at(time))
            case .lost: signs.lapse()
            }
        }
        return signs.validUntil
    }

    @Test("Not before Redis has confirmed the entries of both streams")
    func both() {
        #expect(until([.beat(500)]) < Self.at(0))
        #expect(until([.beat(500), .confirmed(.messages, 400)]) < Self.at(0))
        #expect(until([.confirmed(.messages, 400), .confirmed(.batches, 300), .beat(1900)]) == Self.at(3300))
    }

    @Test("No longer than the loop is known to turn, nor than the older confirmation is good for")
    func ends() {
        let confirmed: [Event] = [.confirmed(.messages, 1000), .confirmed(.batches, 1500)]
        #expect(until(confirmed + [.beat(1000)]) == Self.at(3000))
        #expect(until([.beat(1000), .beat(2500)] + confirmed) == Self.at(4000))
        #expect(until([.beat(1000), .beat(2500)] + confirmed + [.confirmed(.messages, 2400)]) == Self.at(4500))
    }

    @Test("A confirmation that was sent before the loop stood still is none")
    func standstill() {
        var signs = SignsOfLife(now: Self.at(0))
        for kind in EntryStream.Kind.allCases { signs.confirm(kind, sentAt: Self.at(100)) }
        #expect(signs.beat(now: Self.at(1999)) == nil)
        #expect(signs.beat(now: Self.at(3999)) == .milliseconds(2000))
        #expect(signs.stoodStillAt == Self.at(3999))
        #expect(signs.validUntil < Self.at(0))
        for kind in EntryStream.Kind.allCases { signs.confirm(kind, sentAt: Self.at(3998)) }
        #expect(signs.validUntil < Self.at(0))
        for kind in EntryStream.Kind.allCases { signs.confirm(kind, sentAt: Self.at(3999)) }
        #expect(signs.validUntil == Self.at(5999))
    }

    @Test("Without a connection nothing is sent whose outcome could not be stored")
    func connection() {
        let confirmed: [Event] = [.confirmed(.messages, 10), .confirmed(.batches, 10)]
        #expect(until(confirmed + [.lost]) < Self.at(0))
        #expect(until(confirmed + [.lost, .confirmed(.messages, 50)]) < Self.at(0))
        #expect(until(confirmed + [.lost] + confirmed) == Self.at(2000))
    }

    @Test("It ends before another worker may take over what was given between two signs")
    func margin() {
        // An entry that was asked for just under a second before a sign needs none of its own then.
        let oldest = TakenEntries.refreshInterval + SignsOfLife.patience
        #expect(oldest < TakeoverPace.idleLimit)
        #expect(EntryStream.promptness < SignsOfLife.patience)
    }
}
