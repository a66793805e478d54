import Transport

@testable import Worker

/// Redis as ingest uses it, in memory: the scripts' effects, and a crash that loses the last of them.
struct SimulatedRedis {
    struct Entry {
        let push: Int
        let stretch: StretchID?
        let number: Int
    }

    /// How to take one effect back.
    private enum Undo {
        case mark(Int64)
        case lease(holder: Int?, ends: Int64)
        case entry(StretchID?, count: Int?)
        case floor(Int64, forgotten: [StretchID: Int])
    }

    /// Whether a write must follow the one before it; switched off to show that it is needed.
    var checksPrevious = true
    /// It is out of memory: it refuses some of the writes.
    var isFull = false
    private(set) var entries: [Entry] = []
    private(set) var counts: [StretchID: Int] = [:]
    private(set) var outOfOrder: [String] = []
    private(set) var writeCount = 0
    private var floor: Int64 = 0
    private var mark: Int64 = 0
    private var holder: Int?
    private var leaseEnds: Int64 = 0
    private var clockOffset: Int64 = 0
    private var journal: [(at: Int64, undo: Undo)] = []

    mutating func join(suffix: UInt32, now: Int64) -> StretchID {
        newMark(suffix: suffix, now: now)
    }

    mutating func beat(_ beat: IngestBeat, me: Int, suffix: UInt32, now: Int64) -> IngestBeatAnswer {
        let time = now + clockOffset
        var published: StretchID?
        // A lease that ends too late was given by another clock.
        let isOver = holder == nil || leaseEnds <= time || leaseEnds > time + 3000
        if beat.isAble, isOver || holder == me {
            setLease(me, ends: time + 3000, now: now)
            published = newMark(suffix: suffix, now: now)
        } else if !beat.isAble, holder == me {
            setLease(nil, ends: 0, now: now)
            published = newMark(suffix: suffix, now: now)
        }
        return IngestBeatAnswer(
            lease: holder == me ? .mine : holder == nil || isOver ? .free : .ofOther,
            newestMark: mark,
            published: published,
            counts: beat.stretches.map { id in counts[id] ?? (id.number <= floor ? nil : 0) }
        )
    }

    mutating func write(_ write: IngestWrite, push: Int, now: Int64) -> Int? {
        writeCount += 1
        guard let stretch = write.stretch else {
            note(.entry(nil, count: nil), now)
            entries.append(Entry(push: push, stretch: nil, number: 0))
            return 0
        }
        if counts[stretch] == nil, stretch.number <= floor { return nil }
        let count = counts[stretch] ?? 0
        if count >= write.number || (checksPrevious && count < write.previous) { return count }
        note(.entry(stretch, count: counts[stretch]), now)
        if let last = entries.last(where: { $0.stretch == stretch }), last.number >= write.number {
            outOfOrder.append("\(stretch): \(write.number) after \(last.number)")
        }
        entries.append(Entry(push: push, stretch: stretch, number: write.number))
        counts[stretch] = write.number
        return write.number
    }

    /// Forgets all stretches but the newest few.
    mutating func prune(keeping limit: Int, now: Int64) {
        let oldest = counts.keys.sorted { $0.number < $1.number }.dropLast(limit)
        guard let newest = oldest.last else { return }
        var forgotten: [StretchID: Int] = [:]
        for id in oldest { forgotten[id] = counts.removeValue(forKey: id) }
        note(.floor(floor, forgotten: forgotten), now)
        floor = newest.number
    }

    /// Loses what was done after a moment; the clock may be another one afterwards.
    mutating func crash(losingAfter moment: Int64, clockStep: Int64) {
        while let last = journal.last, last.at > moment {
            journal.removeLast()
            takeBack(last.undo)
        }
        clockOffset += clockStep
    }

    private mutating func takeBack(_ undo: Undo) {
        switch undo {
        case .mark(let mark): self.mark = mark
        case .lease(let holder, let ends): (self.holder, leaseEnds) = (holder, ends)
        case .entry(let stretch, let count):
            entries.removeLast()
            if let stretch { counts[stretch] = count }
        case .floor(let floor, let forgotten):
            self.floor = floor
            counts.merge(forgotten) { _, old in old }
        }
    }

    private mutating func newMark(suffix: UInt32, now: Int64) -> StretchID {
        note(.mark(mark), now)
        mark = max(mark + 1, now + clockOffset)
        return StretchID(number: mark, suffix: suffix)
    }

    private mutating func setLease(_ holder: Int?, ends: Int64, now: Int64) {
        note(.lease(holder: self.holder, ends: leaseEnds), now)
        (self.holder, leaseEnds) = (holder, ends)
    }

    private mutating func note(_ undo: Undo, _ now: Int64) {
        journal.append((now, undo))
        if journal.count > 400 { journal.removeFirst(200) }
    }
}
