/// Whether a worker can receive and dispatch, and what is wrong if it cannot; sentences for people.
package struct Readiness: Equatable, Sendable {
    /// What keeps it from its work; none: it is ready.
    package var problems: [String]
    /// What is worth knowing and keeps it from nothing.
    package var notices: [String]

    package init(problems: [String] = [], notices: [String] = []) {
        self.problems = problems
        self.notices = notices
    }

    package var isReady: Bool { problems.isEmpty }
}
