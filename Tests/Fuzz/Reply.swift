/// The replies of Redis: no crash, and the same result however the bytes are split and whichever decoder reads them.
@_cdecl("LLVMFuzzerTestOneInput")
func fuzzReply(_ data: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    report(DecoderProperties.check(Array(UnsafeBufferPointer(start: data, count: count))))
}
