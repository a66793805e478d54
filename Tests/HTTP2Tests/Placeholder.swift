enum HTTP2TestsPlaceholder {}
