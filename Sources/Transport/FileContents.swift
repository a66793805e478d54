import Glibc

/// A small file as it was read at one moment: settings and credentials.
package struct FileContents: Equatable, Sendable {
    package let bytes: [UInt8]
    /// Whether others than its owner and its group may read it.
    package let isReadableByOthers: Bool

    package init(bytes: [UInt8], isReadableByOthers: Bool = false) {
        self.bytes = bytes
        self.isReadableByOthers = isReadableByOthers
    }

    /// Why a file was not read, as the end of the sentence "the file … ".
    package struct Failure: Error, Equatable, Sendable {
        package let reason: String

        package init(reason: String) {
            self.reason = reason
        }
    }

    /// Reads a regular file or a pipe of at most `maximumBytes`; a path of `-` is a file of that name.
    package static func read(_ path: String, maximumBytes: Int) throws(Failure) -> FileContents {
        guard !path.utf8.contains(0) else { throw Failure(reason: "has a NUL in its name") }
        let descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY)
        guard descriptor >= 0 else { throw Failure(reason: "cannot be opened: \(systemErrorText(errno))") }
        defer { close(descriptor) }
        var status = stat()
        guard unsafe fstat(descriptor, &status) == 0 else {
            throw Failure(reason: "cannot be looked at: \(systemErrorText(errno))")
        }
        guard status.st_mode & S_IFMT != S_IFDIR else { throw Failure(reason: "is a folder") }
        let bytes = try read(descriptor: descriptor, maximumBytes: maximumBytes)
        return FileContents(bytes: bytes, isReadableByOthers: status.st_mode & S_IROTH != 0)
    }

    /// Reads standard input to its end.
    package static func readStandardInput(maximumBytes: Int) throws(Failure) -> [UInt8] {
        try read(descriptor: STDIN_FILENO, maximumBytes: maximumBytes)
    }

    private static func read(descriptor: Int32, maximumBytes: Int) throws(Failure) -> [UInt8] {
        var bytes: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 16384)
        while true {
            let count = unsafe Glibc.read(descriptor, &chunk, chunk.count)
            if count == 0 { return bytes }
            guard count > 0 else {
                if errno == EINTR { continue }
                throw Failure(reason: "cannot be read: \(systemErrorText(errno))")
            }
            bytes += chunk[..<count]
            guard bytes.count <= maximumBytes else {
                throw Failure(reason: "is larger than \(maximumBytes) bytes")
            }
        }
    }
}
