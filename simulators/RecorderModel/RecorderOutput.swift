package import ObjectTransfer

/// What the recorder sends of its own accord; the face delivers it.
package enum RecorderOutput: Sendable, Hashable {
    /// To subscribers only.
    case notify(GATTCharacteristicID, [UInt8])
    /// To subscribers only, confirmed by them.
    case indicate(GATTCharacteristicID, [UInt8])
    /// `nextFrame(into:now:)` may have something.
    case framesReady
    /// `nextChannelBytes(into:now:)` may have something.
    case channelBytesReady
    /// `work()` is to be called soon, again and again until it asks no more.
    case workPending
    /// The recorder ends the Object Transfer Channel.
    case closeChannel
    /// `state` changed and is to be kept.
    case stateChanged
}

/// The answer to a write that was accepted.
package struct WriteReply: Sendable, Hashable {
    /// To be sent before the write is answered.
    package var early: [RecorderOutput] = []
    /// To be sent after the write is answered.
    package var late: [RecorderOutput] = []

    package init(early: [RecorderOutput] = [], late: [RecorderOutput] = []) {
        (self.early, self.late) = (early, late)
    }
}

/// What the recorder has to send on a data plane.
package enum DataStep: Sendable, Hashable {
    /// The first so many bytes of the buffer; ask again.
    case send(Int)
    /// A frame was lost on the way; ask again.
    case lost
    /// Nothing before that time has passed.
    case wait(Duration)
    /// Nothing until something else happens.
    case idle
    /// The link breaks now.
    case cut
    /// The recorder closes the channel: it could not read the object.
    case fail
}

/// One transfer of object data, for tests that count what was sent again.
package struct TransferRecord: Sendable, Hashable {
    package let object: ObjectID
    package let offset: UInt32
    /// How much was asked for.
    package let length: UInt32
    /// How much went over the air, lost frames included.
    package var sent: Int64 = 0
}
