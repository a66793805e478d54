import Foundation

/// Medians and percentiles, and how figures are printed.
enum Figures {
    /// The value at a share of the sorted ones; 0 for none.
    static func percentile(_ share: Double, of values: [Double]) -> Double {
        guard !values.isEmpty else { return 0 }
        let sorted = values.sorted()
        return sorted[min(sorted.count - 1, Int(Double(sorted.count) * share))]
    }

    static func median(_ values: [Double]) -> Double {
        percentile(0.5, of: values)
    }

    /// A number with a set count of decimals and thousands set apart: `48,112`, `8.31`.
    static func text(_ value: Double, decimals: Int = 0) -> String {
        guard value.isFinite else { return "-" }
        let rounded = String(format: "%.\(decimals)f", value)
        let parts = rounded.split(separator: ".", maxSplits: 1)
        var whole = String(parts[0])
        var index = whole.count - 3
        while index > (value < 0 ? 1 : 0) {
            whole.insert(",", at: whole.index(whole.startIndex, offsetBy: index))
            index -= 3
        }
        return parts.count > 1 ? "\(whole).\(parts[1])" : whole
    }

    static func megabytes(_ bytes: Int) -> String {
        text(Double(bytes) / 1_048_576, decimals: 1) + " MB"
    }
}

/// Rows of text and figures under a heading, in columns.
struct Table {
    let heading: String
    private(set) var rows: [[String]] = []

    init(_ heading: String, columns: [String] = []) {
        self.heading = heading
        if !columns.isEmpty { rows.append([""] + columns) }
    }

    mutating func add(_ name: String, _ cells: String...) {
        rows.append([name] + cells)
    }

    func printed() -> String {
        let columnCount = rows.map(\.count).max() ?? 0
        let widths = (0..<columnCount).map { column in
            rows.map { $0.count > column ? $0[column].count : 0 }.max() ?? 0
        }
        let lines = rows.map { row in
            let cells = row.enumerated().map { column, cell in
                let padding = String(repeating: " ", count: widths[column] - cell.count)
                return column == 0 ? cell + padding : padding + cell
            }
            return "  " + cells.joined(separator: "  ")
        }
        return ([heading] + lines).joined(separator: "\n")
    }
}
