/// Carries a value that is confined to a loop through code that runs elsewhere.
///
/// Unchecked `Sendable`: the value can be reached on the loop's thread only, which is checked at each access.
package struct LoopConfined<Value>: @unchecked Sendable {
    private let confined: Value
    private let loop: EventLoop

    package init(_ value: Value, on loop: EventLoop) {
        confined = value
        self.loop = loop
    }

    /// The value; loop only.
    package var value: Value {
        loop.preconditionOnLoop()
        return confined
    }
}
