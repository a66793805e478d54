/// The JSON scanner and reader: a text falls into its parts, or is refused.
@_cdecl("LLVMFuzzerTestOneInput")
func fuzzScanner(_ data: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    report(MessageProperties.document(Array(UnsafeBufferPointer(start: data, count: count))))
}
