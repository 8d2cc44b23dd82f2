extension ObjectTransferClient {
    /// Reads `length` bytes of the current object from `offset` into `sink`; exactly that many, or it throws.
    /// After a failure the transfer has been ended on the server (by Abort, or by closing the channel).
    package func read(
        offset: UInt32, length: UInt32, via channel: any DataChannel, into sink: @escaping ByteSink
    ) async throws(ObjectTransferError) {
        guard length > 0 else { return }
        try await withDeadline(deadlines.openChannel, clock: clock, "opening the data channel") {
            () async throws(ObjectTransferError) in
            try await channel.prepare()
        }
        do throws(ObjectTransferError) {
            if channel.needsReadAction {
                _ = try await succeed(.read(offset: offset, length: length))
            }
            try await receive(offset: offset, length: length, via: channel, into: sink)
        } catch {
            await abort(channel, after: error)
            throw error
        }
    }

    private func receive(
        offset: UInt32, length: UInt32, via channel: any DataChannel, into sink: @escaping ByteSink
    ) async throws(ObjectTransferError) {
        let progress = TransferProgress()
        let (deadlines, clock) = (deadlines, clock)
        try await race { () async throws(ObjectTransferError) in
            try await channel.receive(offset: offset, length: length) {
                bytes async throws(ObjectTransferError) in
                guard bytes.count <= Int(length) - progress.bytes else {
                    throw ObjectTransferError(.protocolViolation, "more data than was asked for")
                }
                try await progress.pass(bytes, to: sink)
            }
        } against: {
            await progress.watch(
                stall: deadlines.stall, limit: deadlines.window(of: length), clock: clock)
        }
        guard progress.bytes == Int(length) else {
            throw ObjectTransferError(
                .channel, "\(progress.bytes) bytes came where \(length) were asked for")
        }
    }

    /// Ends a transfer that went wrong: Abort keeps the channel, closing it works on every server.
    private func abort(_ channel: any DataChannel, after error: ObjectTransferError) async {
        if !error.endsLink, channel.needsReadAction, features.actions.contains(.abort),
            error.code == .stalled || error.code == .sink,
            let response = try? await perform(.abort), response.result == .success
        {
            return
        }
        await channel.close()
    }

    /// Reads the first `length` bytes of the current object into memory, in windows of 64 KiB. The caller
    /// bounds `length`.
    package func readAll(
        _ length: UInt32, via channel: any DataChannel
    ) async throws(ObjectTransferError) -> [UInt8] {
        let collector = ByteCollector()
        var offset: UInt32 = 0
        while offset < length {
            let window = min(64 * 1024, length - offset)
            try await read(offset: offset, length: window, via: channel) {
                bytes async throws(ObjectTransferError) in
                await collector.append(bytes)
            }
            offset += window
        }
        return await collector.bytes
    }
}

private actor ByteCollector {
    private(set) var bytes: [UInt8] = []

    func append(_ more: [UInt8]) {
        bytes += more
    }
}
