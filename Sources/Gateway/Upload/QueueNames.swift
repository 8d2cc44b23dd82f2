package import CaptureQueue

// Queue and cloud have words in common; these are the queue's. (The module's name is also its main type's, so
// `CaptureQueue.HoldReason` would not be found.)
package typealias QueueAssetKind = AssetKind
package typealias QueueHoldReason = HoldReason
package typealias QueueRemoteAsset = RemoteAsset
package typealias QueueTerminalReason = TerminalReason
