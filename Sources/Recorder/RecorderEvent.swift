package import ObjectTransfer

/// What happens on a link, for whoever shows it.
package enum RecorderEvent: Sendable, Hashable {
    /// The device said who it is.
    case identified(RecorderIdentity)
    /// The hub's time was written.
    case clockWritten
    /// The recorder's status was read.
    case status(CaptureStatus)
    /// The charge in percent; nil where the recorder does not tell.
    case battery(UInt8?)
    /// What is on the recorder: captures, the files that are still wanted of them, and their bytes to come.
    case listed(captures: Int, wanted: Int, bytes: UInt64)
    /// `received` of the `total` bytes of an asset are here.
    case pulling(RecorderAsset, received: UInt32, total: UInt32, via: DataPlane)
    /// The asset is durable in the queue.
    case pulled(RecorderAsset)
    /// The asset was left out this time.
    case skipped(RecorderAsset, reason: String)
    /// The object was deleted on the recorder (or found to be gone).
    case deleted(AssetKey)
    /// Something is not as it should be; the work goes on.
    case problem(String)
}
