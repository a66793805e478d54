/// Providers' answers: none removes a registration without the provider's word for it.
@_cdecl("LLVMFuzzerTestOneInput")
func fuzzAnswer(_ data: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    report(ProviderProperties.answer(Array(UnsafeBufferPointer(start: data, count: count))))
}
