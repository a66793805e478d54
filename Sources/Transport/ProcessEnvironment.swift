import Glibc

/// The environment variables that this process was started with.
package enum ProcessEnvironment {
    /// A copy, made before threads are started; bytes that are not UTF-8 become U+FFFD, of equal names the first
    /// counts.
    package static var current: [String: String] {
        var variables: [String: String] = [:]
        var entry: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?> = unsafe environ
        while let text = unsafe entry.pointee {
            let line = unsafe String(cString: text)
            if let equals = line.firstIndex(of: "="), equals != line.startIndex {
                let name = String(line[..<equals])
                if variables[name] == nil { variables[name] = String(line[line.index(after: equals)...]) }
            }
            unsafe entry += 1
        }
        return variables
    }
}
