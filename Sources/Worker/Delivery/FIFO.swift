/// A first-in first-out queue in one array: taking from the front moves an index.
package struct FIFO<Element> {
    private var elements: [Element?] = []
    private var head = 0

    package init() {}

    package var count: Int { elements.count - head }
    package var isEmpty: Bool { head == elements.count }

    package mutating func append(_ element: Element) {
        elements.append(element)
    }

    /// Puts an element back before all others.
    package mutating func prepend(_ element: Element) {
        guard head > 0 else { return elements.insert(element, at: 0) }
        head -= 1
        elements[head] = element
    }

    package mutating func popFirst() -> Element? {
        guard head < elements.count else { return nil }
        let element = elements[head]
        elements[head] = nil
        head += 1
        if head == elements.count {
            elements.removeAll(keepingCapacity: head <= 4096)
            head = 0
        } else if head >= 1024, head * 2 >= elements.count {
            elements.removeFirst(head)
            head = 0
        }
        return element
    }

    /// Takes out, in order, what matches.
    package mutating func removeAll(where matches: (Element) -> Bool) -> [Element] {
        let waiting = elements[head...].compactMap { $0 }
        let removed = waiting.filter(matches)
        guard !removed.isEmpty else { return [] }
        elements = waiting.filter { !matches($0) }
        head = 0
        return removed
    }
}

/// Elements under small numbers that are used again: what is in flight, by its tag.
package struct Slab<Element> {
    private var elements: [Element?] = []
    private var free: [Int] = []

    package init() {}

    package var count: Int { elements.count - free.count }

    /// Puts an element in and gives its number.
    package mutating func insert(_ element: Element) -> Int {
        guard let number = free.popLast() else {
            elements.append(element)
            return elements.count - 1
        }
        elements[number] = element
        return number
    }

    /// Takes the element of a number out; nil when there is none.
    package mutating func remove(_ number: Int) -> Element? {
        guard elements.indices.contains(number), let element = elements[number] else { return nil }
        elements[number] = nil
        free.append(number)
        return element
    }
}
