package import Transport

/// Redis' clock, by which the age of messages is measured: all replicas read the same.
///
/// Keeps the distance between Redis' clock and this process' monotonic one, from answers to `TIME`. Of a recent stretch
/// the answer with the shortest round trip counts. Until the first answer it is the wall clock. A value type.
package struct RedisClock: Sendable {
    /// After this long a sample is replaced by the next one, whatever its round trip.
    package static let sampleLifetime: Duration = .seconds(60)

    private struct Sample {
        let taken: LoopInstant
        let roundTrip: Duration
        let unixMilliseconds: Int64
    }

    private var sample: Sample?

    package init() {}

    /// Takes an answer to `TIME`, asked at one instant and answered at another.
    package mutating func note(unixMilliseconds: Int64, asked: LoopInstant, answered: LoopInstant) {
        let roundTrip = answered - asked
        if let sample, sample.roundTrip < roundTrip, answered - sample.taken < Self.sampleLifetime { return }
        sample = Sample(taken: asked + roundTrip / 2, roundTrip: roundTrip, unixMilliseconds: unixMilliseconds)
    }

    /// Redis' time at an instant, in unix milliseconds; `wall` stands in until Redis has told.
    package func unixMilliseconds(at instant: LoopInstant, wall: Int64) -> Int64 {
        guard let sample else { return wall }
        return sample.unixMilliseconds + (instant - sample.taken).wholeMilliseconds
    }
}

extension Duration {
    /// The whole milliseconds of a duration, toward zero.
    package var wholeMilliseconds: Int64 {
        components.seconds * 1000 + components.attoseconds / 1_000_000_000_000_000
    }
}
