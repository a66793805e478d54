import Glibc

/// Small files, read and written at once; these calls block.
package enum File {
    /// The bytes of a file, or of standard input for `-`.
    package static func read(_ path: String, maximumBytes: Int = 16_777_216) throws(TransportError) -> [UInt8] {
        do throws(FileContents.Failure) {
            if path == "-" { return try FileContents.readStandardInput(maximumBytes: maximumBytes) }
            return try FileContents.read(path, maximumBytes: maximumBytes).bytes
        } catch {
            throw .unusable("\(path == "-" ? "standard input" : path) \(error.reason)")
        }
    }

    /// Replaces a file at once: readers see the old content or the new one.
    ///
    /// `mode` is for a new file.
    package static func write(_ bytes: [UInt8], to path: String, mode: UInt32 = 0o600) throws(TransportError) {
        let draft = "\(path).\(getpid()).new"
        let flags = O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC
        let number = retryingInterrupts { openFile(draft, flags, mode) }
        guard number >= 0 else { throw .unusable("\(path) cannot be written: \(systemErrorText(errno))") }
        let file = Descriptor(number)
        do {
            try writeAll(bytes, to: file.number)
            try checked("rename") { unsafe rename(draft, path) }
        } catch {
            unsafe unlink(draft)
            throw .unusable("\(path) cannot be written: \(error)")
        }
    }

    /// Writes all bytes to a descriptor that blocks, as standard output.
    package static func writeAll(_ bytes: [UInt8], to descriptor: Int32) throws(TransportError) {
        var written = 0
        while written < bytes.count {
            written += try checked("write") {
                unsafe bytes.withUnsafeBytes { all in
                    let rest = unsafe UnsafeRawBufferPointer(rebasing: all[written...])
                    return unsafe Glibc.write(descriptor, rest.baseAddress, rest.count)
                }
            }
        }
    }

    /// Whether there is something at the path.
    package static func exists(_ path: String) -> Bool {
        unsafe access(path, F_OK) == 0
    }

    private static func openFile(_ path: String, _ flags: Int32, _ mode: UInt32) -> Int32 {
        unsafe open(path, flags, mode)
    }
}

/// A new folder that only this user may enter; it and all in it are gone with the last reference.
package final class TemporaryFolder: Sendable {
    package let path: String

    /// Made in `TMPDIR`, or in `/tmp` without it.
    package init(prefix: String = "pushbridge") throws(TransportError) {
        let parent = unsafe getenv("TMPDIR").map { unsafe String(cString: $0) } ?? "/tmp"
        var template = Array("\(parent)/\(prefix).XXXXXX".utf8CString)
        guard unsafe mkdtemp(&template) != nil else { throw .system(call: "mkdtemp in \(parent)", code: errno) }
        path = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    deinit {
        Self.remove(path)
    }

    /// The path of something in the folder.
    package func path(of name: String) -> String {
        "\(path)/\(name)"
    }

    /// Removes what can be removed; links are not followed.
    private static func remove(_ path: String) {
        guard unsafe unlink(path) != 0, let folder = unsafe opendir(path) else { return }
        while let entry = unsafe readdir(folder) {
            let name = unsafe withUnsafeBytes(of: &entry.pointee.d_name) { bytes in
                unsafe String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
            }
            if name != ".", name != ".." { remove("\(path)/\(name)") }
        }
        unsafe closedir(folder)
        unsafe rmdir(path)
    }
}
