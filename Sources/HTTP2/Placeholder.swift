enum HTTP2Placeholder {}
