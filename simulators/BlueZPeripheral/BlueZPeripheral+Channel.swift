internal import BlueZ
internal import ObjectTransfer
internal import RecorderModel

/// The Object Transfer Channel: an L2CAP channel on which the recorder sends.
extension BlueZPeripheral {
    /// How long a hub may take nothing.
    private static let stall = Duration.seconds(30)

    /// Takes one channel at a time; a second is refused.
    func takeChannels(_ listener: L2CAPListener) async {
        while true {
            do throws(BlueZError) {
                let socket = try await listener.accept { self.assumeIsolated { $0.admitsChannel() } }
                let channel = ObjectChannel(socket)
                self.channel = channel
                Task { await self.serve(channel) }
            } catch {
                if error.code != .closed, error.code != .cancelled {
                    trouble("no more Object Transfer Channels", error)
                }
                return
            }
        }
    }

    /// The kernel lets only hubs ask that have the security demanded.
    private func admitsChannel() -> Bool {
        guard let link, !link.isEnding else { return false }
        protect(link)
        return model.openChannel()
    }

    private func serve(_ channel: ObjectChannel) async {
        let watching = Task {
            await self.waitForEnd(of: channel.socket)
            self.end(channel)
        }
        await send(on: channel)
        end(channel)
        await watching.value
    }

    private func end(_ channel: ObjectChannel) {
        channel.close()
        guard self.channel === channel else { return }
        self.channel = nil
        model.closeChannel()
    }

    /// What a hub sends means nothing: no object can be written.
    private func waitForEnd(of socket: L2CAPSocket) async {
        while let bytes = try? await socket.read(upTo: 4096, stall: .seconds(86_400)), !bytes.isEmpty {}
    }

    private func send(on channel: ObjectChannel) async {
        var buffer = [UInt8](repeating: 0, count: await channel.socket.sendMTU)
        var bell = channel.ready.makeAsyncIterator()
        do {
            while true {
                let step = buffer.withUnsafeMutableBytes {
                    model.nextChannelBytes(into: $0, now: ContinuousClock.now)
                }
                switch step {
                case .send(let count):
                    try await channel.socket.write(Array(buffer[..<count]), stall: Self.stall)
                case .lost: continue
                case .wait(let delay): try await Task.sleep(for: delay)
                case .idle: guard await bell.next() != nil else { return }
                case .cut:
                    cutLink("")
                    // The channel ends with the link.
                    while await bell.next() != nil {}
                    return
                case .fail: return
                }
            }
        } catch {
            // The hub or the link has gone, which the model learns when the channel is closed.
        }
    }
}
