/// Finds what somebody probably meant.
package enum NearestName {
    /// The candidate that differs least from a name, if it is near enough to be meant.
    package static func of(_ name: String, among candidates: [String]) -> String? {
        let wanted = Array(name.utf8.prefix(64))
        let limit = max(1, wanted.count / 3)
        let best =
            candidates
            .map { (candidate: $0, distance: distance(wanted, Array($0.utf8))) }
            .min { $0.distance < $1.distance }
        guard let best, best.distance <= limit else { return nil }
        return best.candidate
    }

    /// The end of a sentence: `; did you mean X?`, or nothing.
    package static func suggestion(for name: String, among candidates: [String], prefix: String = "") -> String {
        of(name, among: candidates).map { "; did you mean \(prefix)\($0)?" } ?? ""
    }

    /// How many bytes must be put in, taken out, changed, or swapped with their neighbour.
    static func distance(_ left: [UInt8], _ right: [UInt8]) -> Int {
        var beforePrevious: [Int] = []
        var previous = Array(0...right.count)
        for row in left.indices {
            var current = [row + 1]
            for column in right.indices {
                let change = previous[column] + (left[row] == right[column] ? 0 : 1)
                var best = min(change, previous[column + 1] + 1, current[column] + 1)
                let isSwap = row > 0 && column > 0 && left[row] == right[column - 1] && left[row - 1] == right[column]
                if isSwap { best = min(best, beforePrevious[column - 1] + 1) }
                current.append(best)
            }
            beforePrevious = previous
            previous = current
        }
        return previous[right.count]
    }
}
