/// Keys, service accounts, tokens, settings: taken or refused.
@_cdecl("LLVMFuzzerTestOneInput")
func fuzzCredential(_ data: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    report(ProviderProperties.credential(Array(UnsafeBufferPointer(start: data, count: count))))
}
