/// The look at every message that is heard: it agrees with a look at the whole document.
@_cdecl("LLVMFuzzerTestOneInput")
func fuzzFilter(_ data: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    report(MessageProperties.filter(Array(UnsafeBufferPointer(start: data, count: count))))
}
