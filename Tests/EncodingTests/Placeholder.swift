enum EncodingTestsPlaceholder {}
