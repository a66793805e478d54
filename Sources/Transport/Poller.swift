import CLinux
import Glibc

/// What the poller calls when a descriptor is ready.
protocol DescriptorWatcher: AnyObject {
    func descriptorReady(_ events: PollEvents)
    /// The loop has ended: lets go of the descriptor and of all that it holds, without telling anyone.
    func loopEnded()
}

/// Readiness of a descriptor, as epoll reports it (epoll_ctl(2)).
struct PollEvents: OptionSet {
    let rawValue: UInt32

    static let input = PollEvents(rawValue: EPOLLIN.rawValue)
    static let output = PollEvents(rawValue: EPOLLOUT.rawValue)
    /// The peer ended its direction.
    static let peerEnded = PollEvents(rawValue: EPOLLRDHUP.rawValue)
    /// Both directions have ended; always reported.
    static let hangUp = PollEvents(rawValue: EPOLLHUP.rawValue)
    /// Always reported.
    static let error = PollEvents(rawValue: EPOLLERR.rawValue)
}

/// The epoll set of one loop, level-triggered; confined to that loop.
///
/// Owns the watchers until they are removed.
///
/// A watcher that was removed while its event waited in the same batch is not called any more: each place in the
/// table has a generation, which is part of the value that epoll hands back.
@safe final class Poller {
    /// Names a registration; valid until it is removed.
    struct Token: Equatable {
        fileprivate let value: UInt64
        fileprivate var index: Int { Int(value & 0xFFFF_FFFF) }
        fileprivate var generation: UInt32 { UInt32(value >> 32) }

        fileprivate init(value: UInt64) { self.value = value }
        fileprivate init(index: Int, generation: UInt32) {
            value = UInt64(index) | UInt64(generation) << 32
        }
    }

    private struct Place {
        var watcher: (any DescriptorWatcher)?
        var generation: UInt32 = 0
    }

    // 256 events in a batch: 3 KB, and no second call for a busy loop.
    private static let batchSize = 256

    private let epoll: Descriptor
    private var places: [Place] = []
    private var freePlaces: [Int] = []
    private let events: UnsafeMutablePointer<epoll_event>
    private var readyCount = 0

    init() throws(TransportError) {
        epoll = Descriptor(try checked("epoll_create1") { epoll_create1(Int32(EPOLL_CLOEXEC)) })
        unsafe events = .allocate(capacity: Self.batchSize)
        unsafe events.initialize(repeating: epoll_event(), count: Self.batchSize)
    }

    deinit {
        unsafe events.deallocate()
    }

    func add(
        _ descriptor: Int32,
        _ interest: PollEvents,
        _ watcher: any DescriptorWatcher
    ) throws(TransportError) -> Token {
        let index = freePlaces.popLast() ?? places.count
        if index == places.count { places.append(Place()) }
        let token = Token(index: index, generation: places[index].generation)
        do {
            try control(EPOLL_CTL_ADD, descriptor, interest, token)
        } catch {
            freePlaces.append(index)
            throw error
        }
        places[index].watcher = watcher
        return token
    }

    func change(_ descriptor: Int32, _ interest: PollEvents, _ token: Token) throws(TransportError) {
        try control(EPOLL_CTL_MOD, descriptor, interest, token)
    }

    /// Must come before the descriptor is closed.
    func remove(_ descriptor: Int32, _ token: Token) {
        guard token.index < places.count, places[token.index].generation == token.generation else { return }
        // It cannot fail for a descriptor that was added; if it did, the generation keeps its events away.
        try? control(EPOLL_CTL_DEL, descriptor, [], token)
        places[token.index].watcher = nil
        places[token.index].generation &+= 1
        freePlaces.append(token.index)
    }

    /// Ends all watchers.
    func removeAll() {
        readyCount = 0
        while let index = places.firstIndex(where: { $0.watcher != nil }) {
            let watcher = places[index].watcher
            places[index].watcher = nil
            places[index].generation &+= 1
            watcher?.loopEnded()
        }
    }

    /// Waits until something is ready; -1 is without end.
    func wait(timeoutMilliseconds: Int32) {
        let count = unsafe epoll_wait(epoll.number, events, Int32(Self.batchSize), timeoutMilliseconds)
        readyCount = max(0, Int(count))
    }

    /// Calls the watchers of what was ready at the last wait.
    func dispatch() {
        var position = 0
        while position < readyCount {
            let event = unsafe events[position]
            position += 1
            let token = unsafe Token(value: event.data.u64)
            guard token.index < places.count, places[token.index].generation == token.generation,
                let watcher = places[token.index].watcher
            else { continue }
            unsafe watcher.descriptorReady(PollEvents(rawValue: event.events))
        }
        readyCount = 0
    }

    private func control(
        _ operation: Int32,
        _ descriptor: Int32,
        _ interest: PollEvents,
        _ token: Token
    ) throws(TransportError) {
        var event = unsafe epoll_event()
        unsafe event.events = interest.rawValue
        unsafe event.data.u64 = token.value
        guard unsafe epoll_ctl(epoll.number, operation, descriptor, &event) == 0 else {
            throw .system(call: "epoll_ctl", code: errno)
        }
    }
}
