/// The kinds of events that the log tells of. Each has a message id by which the journal finds it
/// (systemd.journal-fields(7)); docs/logging.md lists them. An id never gets another meaning.
package enum EventKind: String, Sendable, CaseIterable {
    /// celestiad starts.
    case daemonStarts = "104e34036d60548e9a0f14087d2b2709"
    /// The queue is open, the bus name taken, BlueZ was looked for.
    case daemonReady = "c07580365c0754e28bf79d943c045fa5"
    /// A signal asks for the end: what is under way is put down.
    case daemonStops = "fb1bf0b7508c5385922f832512169677"
    /// celestiad has ended in order.
    case daemonEnds = "fe684ef0d4fc59838327f2cb6c60ed0a"
    /// A part of celestiad gives no sign of life, and the watchdog is not fed.
    case daemonSilent = "0c1ccace42d656ea872f667d532c19b2"
    /// The last run did not end in order, and the queue was checked.
    case queueChecked = "dd6041796131574ea7bf7a25637cfc27"
    /// The database was damaged or missing and was made anew from the spool.
    case queueRemade = "5b111b00a5c150cc9487bfb6d81bb3d0"
    /// Stored files are gone, changed or unreadable.
    case filesLost = "f9e15b093eb45a7cbf302e5a5f96b644"
    /// A recorder was paired.
    case recorderPaired = "3044253ca42656c2ae67865adc21c67a"
    /// A recorder was forgotten.
    case recorderForgotten = "f8a9d56e123350a1a6ef31dc4a0c88c6"
    /// A recorder is connected.
    case recorderConnected = "a0f3360097ac51ea9fa8ae594c9aa87f"
    /// Files came from a recorder.
    case recorderPulled = "b41ccf25456c5676bdcc3768f5886824"
    /// Something is wrong with a recorder or the link to it.
    case recorderProblem = "53aa2ff6a7185275b4ad5dbf0db2e685"
    /// The account has a recorder, or has it no more.
    case recorderBound = "af201adec7a3540990e78d161fd064b8"
    /// All of a session is in the cloud, verified.
    case sessionUploaded = "f7cf8b657cc759f5afcf19b1edd8bbc1"
    /// A session is tried again later.
    case sessionRetried = "218762bc459f5339b5b1f6f1a49edf65"
    /// A session waits for something that has to change.
    case sessionHeld = "670ecdea9bd45ad48a82610143b0e37f"
    /// A session came to an end that is not the cloud's verified yes.
    case sessionFailed = "0081cba936d2562d9de16df8d3f46c5c"
    /// A user has paused, resumed, retried, cancelled or moved a session.
    case sessionChanged = "4bccfa421bee5d87be07e91a5a3875a4"
    /// Nothing is uploaded: a login, storage, the network or the cloud is missing.
    case uploadsHeld = "73eee1cd1d9e56af92c5b0770e19f8de"
    /// What held the uploads is over.
    case uploadsResumed = "b3cedd1c178d58e691d82346b7c6d7fc"
    /// All that was queued is in the cloud.
    case uploadsDone = "552e1965ce7e5394a9ff3336e1299553"
    /// A login.
    case loggedIn = "4ee2294667da5c09bffef346070f484a"
    /// A logout.
    case loggedOut = "c3a7a9fa544d538384d39dc6d41f7451"
    /// The login by itself did not work.
    case loginFailed = "da5e1566d5d855ce8e9b3b5d18eb1fc9"
    /// The disk is low on space, and no files are taken.
    case diskLow = "ebcbbd52336f5fd198b184bfca40882a"
    /// The disk has room again.
    case diskRoom = "3680d3370d8a5367b549227cf4b2fba1"
    /// The watched folder cannot be read, or can be again.
    case folderAway = "b5fb8612905353828ec2d5e93568c55d"
    /// A file of the watched folder became a session.
    case fileTaken = "0f68de68a9e15d57b1731a9668df1b59"
    /// A file of the watched folder was not taken.
    case fileRefused = "9a5e2da91ca15f59987df28eb289fc56"
    /// The MQTT broker is connected.
    case mqttConnected = "bc51027ee53b58d893dd99c6885e7970"
    /// The MQTT broker is not reached.
    case mqttFailed = "fa2168b06b00565899b20ea24f589177"
    /// The metrics cannot be written or served.
    case metricsFailed = "c3594e985909536bbec8bb9b9a3d9189"
    /// The level of the log was changed while it runs.
    case levelChanged = "ddcf622438bf57c3ab343f548acc011c"

    /// As documents name it.
    package var name: String { "\(self)" }
    /// The MESSAGE_ID.
    package var messageID: String { rawValue }
}
