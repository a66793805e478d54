/// The requests that are open on one session: a slab, so that none of them costs an allocation, with a list in the
/// order of submission, whose head is the next to reach its deadline.
struct RequestSlots {
    struct Slot {
        var tag = 0
        var streamID: Int32 = 0
        var submitted = Int64.max
        /// Keeps the memory of the headers alive.
        var template: HTTP2RequestTemplate?
        var body: [UInt8] = []
        var bodyOffset = 0
        /// Where the request's last frame ends in the session's output; `max` until that frame is serialised.
        var endOffset = UInt64.max
        var status = 0
        var isComplete = false
        var responseBody: [UInt8] = []
        var responseHeaders: [HTTP2HeaderField] = []
        fileprivate var older: Int32 = -1
        fileprivate var newer: Int32 = -1
    }

    var items: [Slot] = []
    private(set) var count = 0
    private var oldest: Int32 = -1
    private var newest: Int32 = -1
    private var firstFree: Int32 = -1

    /// The request that was submitted first of those open.
    var oldestIndex: Int? { oldest < 0 ? nil : Int(oldest) }

    /// The open request that was submitted after this one.
    func index(after index: Int) -> Int? {
        let newer = items[index].newer
        return newer < 0 ? nil : Int(newer)
    }

    /// A slot at the end of the list; the caller fills it.
    mutating func add() -> Int {
        let index: Int
        if firstFree >= 0 {
            index = Int(firstFree)
            firstFree = items[index].newer
        } else {
            index = items.count
            items.append(Slot())
        }
        items[index].older = newest
        items[index].newer = -1
        if newest >= 0 { items[Int(newest)].newer = Int32(truncatingIfNeeded: index) }
        newest = Int32(truncatingIfNeeded: index)
        if oldest < 0 { oldest = newest }
        count += 1
        return index
    }

    /// Takes the request out and gives its slot back.
    mutating func remove(_ index: Int) -> Slot {
        var slot = Slot()
        swap(&slot, &items[index])
        if slot.older >= 0 { items[Int(slot.older)].newer = slot.newer } else { oldest = slot.newer }
        if slot.newer >= 0 { items[Int(slot.newer)].older = slot.older } else { newest = slot.older }
        items[index].newer = firstFree
        firstFree = Int32(truncatingIfNeeded: index)
        count -= 1
        return slot
    }
}
