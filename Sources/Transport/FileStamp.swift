import Glibc

/// What changes when a file is written, replaced, or its rights are changed.
///
/// Symbolic links are followed, so that a link that points elsewhere is a change too.
package struct FileStamp: Equatable, Sendable {
    private let device: UInt64
    private let number: UInt64
    private let size: Int64
    private let written: [Int]
    private let changed: [Int]

    /// Nil when there is no such file, it cannot be looked at, or is none to be read twice, as a pipe.
    package init?(of path: String) {
        var status = stat()
        guard unsafe stat(path, &status) == 0, status.st_mode & S_IFMT == S_IFREG else { return nil }
        device = UInt64(status.st_dev)
        number = UInt64(status.st_ino)
        size = Int64(status.st_size)
        written = [status.st_mtim.tv_sec, status.st_mtim.tv_nsec]
        changed = [status.st_ctim.tv_sec, status.st_ctim.tv_nsec]
    }
}
