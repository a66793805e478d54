import CLinux
import Glibc
import Synchronization

/// A program that this process has started; from any thread.
///
/// It starts with the default signal actions and an empty signal mask, with exactly the environment that is given, with
/// no descriptor but the standard ones, and nothing on its standard input. When the last reference goes while it still
/// runs it is killed: no child outlives its owner.
package final class ChildProcess: Sendable {
    /// Where a standard stream of the child goes.
    package enum Output: Sendable {
        case discard
        /// To where ours goes.
        case inherit
        /// Appended to a file, which is made if need be.
        case file(path: String)
    }

    package enum Exit: Equatable, Sendable {
        case code(Int32)
        case signal(Int32)
    }

    package let identifier: Int32
    // Names the process even after its number was given to another one.
    private let handle: Descriptor
    private let reaped = Mutex<Exit?>(nil)

    /// Starts a program; a name without a slash is looked up in the `PATH` of this process.
    package init(
        _ program: String,
        _ arguments: [String],
        environment: [String: String],
        standardOutput: Output = .inherit,
        standardError: Output = .inherit
    ) throws(TransportError) {
        let plan = try SpawnPlan(standardOutput: standardOutput, standardError: standardError)
        identifier = try plan.spawn(program, arguments, environment: environment)
        let number = pidfd_open(identifier, 0)
        guard number >= 0 else {
            let code = errno
            Glibc.kill(identifier, SIGKILL)
            waitpid(identifier, nil, 0)
            throw .system(call: "pidfd_open", code: code)
        }
        handle = Descriptor(number)
    }

    deinit {
        guard reaped.withLock({ $0 == nil }) else { return }
        send(SIGKILL)
        _ = retryingInterrupts { waitpid(identifier, nil, 0) }
    }

    /// Asks it to end: SIGTERM.
    package func terminate() { send(SIGTERM) }

    /// Ends it at once: SIGKILL.
    package func kill() { send(SIGKILL) }

    /// Sends a signal; without effect after its end.
    package func send(_ signal: Int32) {
        _ = pidfd_send_signal(handle.number, signal, nil, 0)
    }

    /// Blocks until it has ended; nil if the deadline comes first.
    package func wait(within deadline: Duration) -> Exit? {
        let end = LoopInstant.current + deadline
        while true {
            if let exit = reap() { return exit }
            let remaining = end - .current
            guard remaining > .zero else { return nil }
            var entry = pollfd(fd: handle.number, events: Int16(POLLIN), revents: 0)
            _ = unsafe poll(&entry, 1, Int32(clamping: remaining.clampedMilliseconds))
        }
    }

    /// Waits on a thread of its own until it has ended; nil if the deadline comes first.
    package func end(within deadline: Duration) async throws -> Exit? {
        try await withCheckedThrowingContinuation { continuation in
            do {
                try startThread(named: "child wait") { continuation.resume(returning: self.wait(within: deadline)) }
            } catch {
                continuation.resume(throwing: error)
            }
        }
    }

    /// SIGTERM, and SIGKILL if it has not ended after the grace time.
    ///
    /// Blocks.
    @discardableResult
    package func stop(grace: Duration) -> Exit? {
        terminate()
        if let exit = wait(within: grace) { return exit }
        kill()
        return wait(within: .seconds(10))
    }

    /// How it ended, if it has; frees the process number.
    private func reap() -> Exit? {
        reaped.withLock { reaped in
            if let reaped { return reaped }
            var status: Int32 = 0
            let result = retryingInterrupts { unsafe waitpid(identifier, &status, WNOHANG) }
            guard result == identifier else { return nil }
            // The layout of wait statuses: signal in the low seven bits, exit code in the second byte.
            let signal = status & 0x7F
            reaped = signal == 0 ? .code((status >> 8) & 0xFF) : .signal(signal)
            return reaped
        }
    }
}

/// The prepared arguments of `posix_spawn`; freed at its end.
@safe private final class SpawnPlan {
    private var actions = unsafe posix_spawn_file_actions_t()
    private var attributes = posix_spawnattr_t()

    init(standardOutput: ChildProcess.Output, standardError: ChildProcess.Output) throws(TransportError) {
        unsafe posix_spawn_file_actions_init(&actions)
        unsafe posix_spawnattr_init(&attributes)
        unsafe posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0)
        addOutput(standardOutput, STDOUT_FILENO)
        addOutput(standardError, STDERR_FILENO)
        unsafe posix_spawn_file_actions_addclosefrom_np(&actions, STDERR_FILENO + 1)
        var none = sigset_t()
        unsafe sigemptyset(&none)
        unsafe posix_spawnattr_setsigmask(&attributes, &none)
        var all = sigset_t()
        unsafe sigfillset(&all)
        unsafe posix_spawnattr_setsigdefault(&attributes, &all)
        let flags = POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF
        unsafe posix_spawnattr_setflags(&attributes, Int16(flags))
    }

    deinit {
        unsafe posix_spawn_file_actions_destroy(&actions)
        unsafe posix_spawnattr_destroy(&attributes)
    }

    private func addOutput(_ output: ChildProcess.Output, _ number: Int32) {
        switch output {
        case .inherit: break
        case .discard: unsafe posix_spawn_file_actions_addopen(&actions, number, "/dev/null", O_WRONLY, 0)
        case .file(let path):
            unsafe posix_spawn_file_actions_addopen(&actions, number, path, O_WRONLY | O_CREAT | O_APPEND, 0o600)
        }
    }

    func spawn(
        _ program: String,
        _ arguments: [String],
        environment: [String: String]
    ) throws(TransportError) -> pid_t {
        var argumentTexts = unsafe ([program] + arguments).map { unsafe strdup($0) }
        var environmentTexts = unsafe environment.map { unsafe strdup("\($0.key)=\($0.value)") }
        defer { unsafe (argumentTexts + environmentTexts).forEach { unsafe free($0) } }
        unsafe argumentTexts.append(nil)
        unsafe environmentTexts.append(nil)
        var identifier: pid_t = 0
        let code = unsafe posix_spawnp(
            &identifier,
            program,
            &actions,
            &attributes,
            argumentTexts,
            environmentTexts
        )
        guard code == 0 else { throw .unusable("the program \(program) cannot be started: \(systemErrorText(code))") }
        return identifier
    }
}
