/// Ends the process when a property does not hold, so that the fuzzer keeps the input.
func report(_ problem: String?) -> CInt {
    if let problem { preconditionFailure(problem) }
    return 0
}
