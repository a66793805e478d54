import HTTP2
import Testing
import Transport

@Suite("Decisions of a pool")
struct HTTP2PoolStateTests {
    private func moment(_ milliseconds: Int64) -> LoopInstant {
        LoopInstant(nanoseconds: 1_000_000_000_000 + milliseconds * 1_000_000)
    }

    private func options() -> HTTP2Options {
        var options = HTTP2Options()
        options.maximumConnections = 3
        options.growthDelay = .milliseconds(10)
        options.firstPause = .milliseconds(100)
        options.longestPause = .milliseconds(1000)
        options.idleLifetime = .milliseconds(5000)
        return options
    }

    /// A state with that many good connections, numbered from 1.
    private func state(connections: Int) -> HTTP2PoolState {
        var state = HTTP2PoolState(options: options())
        for identifier in 1...connections {
            #expect(state.needsRoom(now: moment(0)).contains(.open(identifier)) || identifier > 1)
            if identifier > 1 { #expect(state.wake(now: moment(10)) == [.open(identifier)]) }
            state.becameReady(identifier, now: moment(0))
            state.becameProductive(identifier)
            state.becameProven(identifier)
            state.foundRoom()
        }
        return state
    }

    @Test("The first need opens one connection, further needs wait for it")
    func first() {
        var state = HTTP2PoolState(options: options())
        #expect(state.needsRoom(now: moment(0)) == [.open(1)])
        #expect(state.needsRoom(now: moment(50)) == [])
        state.becameReady(1, now: moment(60))
        #expect(state.isWanted)
        state.foundRoom()
        #expect(!state.isWanted)
    }

    @Test("A connection is added only when all have been full for the delay, up to the maximum")
    func growth() {
        var state = state(connections: 1)
        #expect(state.needsRoom(now: moment(100)) == [.wake(moment(110))])
        #expect(state.wake(now: moment(110)) == [.open(2)])
        #expect(state.wake(now: moment(200)) == [])
        state.becameReady(2, now: moment(210))
        state.becameProven(2)
        #expect(state.needsRoom(now: moment(210)) == [.open(3)])
        state.becameReady(3, now: moment(220))
        state.becameProven(3)
        #expect(state.needsRoom(now: moment(500)) == [])
    }

    @Test("Room found in time calls the growth off")
    func growthCalledOff() {
        var state = state(connections: 1)
        #expect(state.needsRoom(now: moment(100)) == [.wake(moment(110))])
        state.foundRoom()
        #expect(state.wake(now: moment(110)) == [])
        #expect(state.needsRoom(now: moment(120)) == [.wake(moment(130))])
    }

    @Test("While a connection waits for its first good answer, being full is no reason for another")
    func unproven() {
        var state = HTTP2PoolState(options: options())
        #expect(state.needsRoom(now: moment(0)) == [.open(1)])
        state.becameReady(1, now: moment(10))
        state.becameProductive(1)
        #expect(state.needsRoom(now: moment(500)) == [])
        state.becameProven(1)
        #expect(state.needsRoom(now: moment(510)) == [.open(2)])
    }

    @Test("A failing host gets pauses that double up to the longest, between half and the whole of it")
    func pauses() {
        for (random, expected) in [(0.0, [50, 100, 200, 400, 500, 500]), (1.0, [100, 200, 400, 800, 1000, 1000])] {
            var state = HTTP2PoolState(options: options())
            var now: Int64 = 0
            for (round, pause) in expected.enumerated() {
                #expect(state.needsRoom(now: moment(now)) == [.open(round + 1)])
                let end = state.ended(round + 1, now: moment(now), random: random)
                #expect(end.pause == .milliseconds(pause))
                #expect(end.actions == [.wake(moment(now + Int64(pause)))])
                #expect(state.needsRoom(now: moment(now + 1)) == [.wake(moment(now + Int64(pause)))])
                now += Int64(pause)
            }
        }
    }

    @Test("An answer ends the counting of failures")
    func recovery() {
        var state = HTTP2PoolState(options: options())
        for identifier in 1...4 {
            _ = state.needsRoom(now: moment(Int64(identifier) * 10_000))
            _ = state.ended(identifier, now: moment(Int64(identifier) * 10_000), random: 1)
        }
        _ = state.needsRoom(now: moment(100_000))
        state.becameReady(5, now: moment(100_000))
        state.becameProductive(5)
        #expect(state.ended(5, now: moment(200_000), random: 1).pause == .zero)
        _ = state.needsRoom(now: moment(200_000))
        #expect(state.ended(6, now: moment(200_000), random: 1).pause == .milliseconds(100))
    }

    @Test("A lost connection is replaced at once if it is needed, but a short-lived one only after a pause")
    func replacement() {
        var long = state(connections: 1)
        _ = long.needsRoom(now: moment(5000))
        #expect(long.ended(1, now: moment(5000), random: 0).actions == [.open(2)])
        var short = state(connections: 1)
        _ = short.needsRoom(now: moment(500))
        #expect(short.ended(1, now: moment(500), random: 0).actions == [.wake(moment(600))])
        var unneeded = state(connections: 1)
        #expect(unneeded.ended(1, now: moment(5000), random: 0).actions == [])
    }

    @Test("A connection that said goodbye is replaced while it still brings answers")
    func leaving() {
        var state = state(connections: 1)
        #expect(state.isLeaving(1, now: moment(100)) == [])
        #expect(state.needsRoom(now: moment(100)) == [.open(2)])
        #expect(state.ended(1, now: moment(5000), random: 0).pause == .zero)
    }

    @Test("A goodbye before any answer counts as a failure")
    func goodbyeBeforeAnswer() {
        var state = HTTP2PoolState(options: options())
        _ = state.needsRoom(now: moment(0))
        state.becameReady(1, now: moment(0))
        _ = state.isLeaving(1, now: moment(0))
        #expect(state.ended(1, now: moment(0), random: 1).pause == .milliseconds(100))
    }

    @Test("Unused connections are closed, the newest first, one always stays")
    func tidy() {
        var state = state(connections: 3)
        let uses = [1: moment(0), 2: moment(9000), 3: moment(0)]
        #expect(state.tidy(now: moment(4999)) { uses[$0] } == [])
        #expect(state.tidy(now: moment(10_000)) { uses[$0] } == [.close(3), .close(1)])
        #expect(state.tidy(now: moment(10_000)) { _ in nil } == [])
        _ = state.isLeaving(3, now: moment(10_000))
        _ = state.isLeaving(1, now: moment(10_000))
        #expect(state.tidy(now: moment(90_000)) { uses[$0] } == [])
        #expect(state.ended(3, now: moment(10_000), random: 0).pause == .zero)
    }

    @Test("Connections that bring nothing are replaced, at most as many as there may be connections")
    func silence() {
        var state = state(connections: 3)
        #expect(state.isSilent(1, true, now: moment(5000)) == [])
        #expect(state.isSilent(2, true, now: moment(5000)) == [])
        #expect(state.needsRoom(now: moment(5000)) == [.wake(moment(5010))])
        #expect(state.isSilent(3, true, now: moment(5000)) == [.open(4)])
        state.becameReady(4, now: moment(5010))
        #expect(state.isSilent(4, true, now: moment(9000)) == [])
        #expect(state.ended(1, now: moment(9000), random: 0).actions == [.open(5)])
    }

    @Test("An unproven connection that is silent is no reason to wait for its answer")
    func unprovenSilence() {
        var state = HTTP2PoolState(options: options())
        _ = state.needsRoom(now: moment(0))
        state.becameReady(1, now: moment(10))
        #expect(state.needsRoom(now: moment(500)) == [])
        #expect(state.isSilent(1, true, now: moment(5010)) == [.open(2)])
        state.becameReady(2, now: moment(5020))
        #expect(state.isSilent(1, false, now: moment(5030)) == [])
    }

    @Test("A peer that asks for calm gets a pause, however much it has answered")
    func rebuke() {
        var state = state(connections: 1)
        _ = state.needsRoom(now: moment(5000))
        state.isRebuked(1)
        #expect(state.isLeaving(1, now: moment(5000)) == [.open(2)])
        #expect(state.ended(1, now: moment(5000), random: 1).pause == .milliseconds(100))
    }

    @Test("Connections that are replaced by will are no failures, and end the pause after some")
    func replacedByWill() {
        var state = HTTP2PoolState(options: options())
        _ = state.needsRoom(now: moment(0))
        #expect(state.ended(1, now: moment(0), random: 1).pause == .milliseconds(100))
        state.forgetFailures()
        #expect(state.needsRoom(now: moment(1)) == [.open(2)])
        state.becameReady(2, now: moment(2))
        state.isDismissed(2)
        #expect(state.isLeaving(2, now: moment(3)) == [.open(3)])
        #expect(state.ended(2, now: moment(4), random: 1).pause == .zero)
    }
}
