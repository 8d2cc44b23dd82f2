import CaptureQueue

/// What a configuration that was read anew means to what runs.
extension Gateway {
    /// As it is now.
    package nonisolated var configuration: Configuration { live.current }

    /// Hands changes on to the parts that keep values of their own, until the task is cancelled.
    nonisolated func applyChanges() async {
        for await configuration in live.changes() {
            await uploads.reconfigure {
                $0.parallelUploads = configuration.parallelUploads
                $0.slowestRate = configuration.slowestUploadRate
            }
            await queue.reconfigure {
                $0.reservedBytes = configuration.reservedMiB << 20
                $0.reservedPercent = configuration.reservedPercent
                $0.keepAfterUpload = configuration.keepAfterUpload
            }
        }
    }
}

extension Configuration {
    /// The bytes per second that each of the files on their way may at times be held to; nil: no limit.
    var slowestUploadRate: Int64? {
        uploadRates.slowest.map { max(1, $0 / Int64(max(1, parallelUploads))) }
    }
}
