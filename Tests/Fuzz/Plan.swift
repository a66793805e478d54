/// The plan of a message: bodies as published, headers that can be sent, FCM messages of v1.
@_cdecl("LLVMFuzzerTestOneInput")
func fuzzPlan(_ data: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    report(MessageProperties.plan(Array(UnsafeBufferPointer(start: data, count: count))))
}
