internal import CNghttp2

/// The streams of a server session that hold a request or a response: a slab.
struct ServerStreams {
    struct Slot {
        var request: HTTP2ServerRequest
        var template: HTTP2ResponseTemplate?
        var response: [UInt8] = []
        var responseOffset = 0
    }

    var items: [Slot] = []
    private var free: [Int] = []

    /// A slot with that request.
    mutating func add(_ request: HTTP2ServerRequest) -> Int {
        if let index = free.popLast() {
            items[index] = Slot(request: request)
            return index
        }
        items.append(Slot(request: request))
        return items.count - 1
    }

    mutating func remove(_ index: Int) {
        items[index] = Slot(request: HTTP2ServerRequest(streamID: 0))
        free.append(index)
    }
}

/// How responses are handed to the library.
struct ServerScratch {
    /// A header-only response without a slot, else one whose body is in the slot.
    func respond(_ core: SessionCore, _ streamID: Int32, _ headers: HeaderBlock, slot: Int?) {
        guard let slot else {
            _ = unsafe nghttp2_submit_response(core.pointer, streamID, headers.fields, headers.count, nil)
            return
        }
        var provider = unsafe nghttp2_data_provider(
            source: nghttp2_data_source(ptr: SessionCore.userData(slot)),
            read_callback: HTTP2ServerSession.readBody
        )
        _ = unsafe nghttp2_submit_response(core.pointer, streamID, headers.fields, headers.count, &provider)
    }
}
