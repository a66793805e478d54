import Glibc

/// A moment of the monotonic clock, in nanoseconds since the machine started.
///
/// It goes on while the machine sleeps: what was owned before may belong to others afterwards.
package struct LoopInstant: Comparable, Hashable, Sendable {
    package let nanoseconds: Int64

    package init(nanoseconds: Int64) {
        self.nanoseconds = nanoseconds
    }

    /// The clock as it stands now, past the loop's cached time.
    package static var current: LoopInstant {
        var time = timespec()
        unsafe clock_gettime(CLOCK_BOOTTIME, &time)
        return LoopInstant(nanoseconds: Int64(time.tv_sec) &* 1_000_000_000 &+ Int64(time.tv_nsec))
    }

    package static func < (left: LoopInstant, right: LoopInstant) -> Bool {
        left.nanoseconds < right.nanoseconds
    }

    package static func + (instant: LoopInstant, duration: Duration) -> LoopInstant {
        let (sum, overflow) = instant.nanoseconds.addingReportingOverflow(duration.clampedNanoseconds)
        guard overflow else { return LoopInstant(nanoseconds: sum) }
        return LoopInstant(nanoseconds: duration < .zero ? .min : .max)
    }

    package static func - (instant: LoopInstant, duration: Duration) -> LoopInstant {
        instant + (.zero - duration)
    }

    package static func - (left: LoopInstant, right: LoopInstant) -> Duration {
        .nanoseconds(left.nanoseconds &- right.nanoseconds)
    }
}

extension Duration {
    /// The duration in nanoseconds; what does not fit is cut at the ends of the range (292 years).
    package var clampedNanoseconds: Int64 {
        let (seconds, attoseconds) = components
        let (whole, overflow) = seconds.multipliedReportingOverflow(by: 1_000_000_000)
        let (sum, sumOverflow) = whole.addingReportingOverflow(attoseconds / 1_000_000_000)
        guard overflow || sumOverflow else { return sum }
        return seconds < 0 ? .min : .max
    }

    /// The duration in whole milliseconds, rounded up and cut at the ends of the range.
    package var clampedMilliseconds: Int64 {
        let nanoseconds = clampedNanoseconds
        return nanoseconds / 1_000_000 + (nanoseconds % 1_000_000 > 0 ? 1 : 0)
    }
}

/// Milliseconds since 1970 by the system's wall clock.
package func currentUnixMilliseconds() -> Int64 {
    var time = timespec()
    unsafe clock_gettime(CLOCK_REALTIME, &time)
    return Int64(time.tv_sec) &* 1000 &+ Int64(time.tv_nsec) / 1_000_000
}

/// Microseconds since 1970 by the system's wall clock.
package func currentUnixMicroseconds() -> Int64 {
    var time = timespec()
    unsafe clock_gettime(CLOCK_REALTIME, &time)
    return Int64(time.tv_sec) &* 1_000_000 &+ Int64(time.tv_nsec) / 1000
}
