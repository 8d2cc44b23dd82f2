import CaptureQueue

/// The recorder, the user and the clouds of one torture, in the parent: what it was told is what the oracle knows.
struct World {
    /// A file whose source was told that it is taken.
    struct Taken {
        let number: Int
        let session: SessionID
        let sha256: String
    }

    let plan: Plan
    /// By their address.
    var clouds: [String: WorldCloud] = [:]
    /// The files that their sources were allowed to forget.
    private(set) var acknowledged: [AssetID: Taken] = [:]
    /// Those whose bytes the user had removed.
    private(set) var unwanted: Set<AssetID> = []
    /// The number of the capture that each session is of.
    private(set) var registered: [SessionID: Int] = [:]
    private(set) var cancelled: Set<SessionID> = []
    /// Sessions that the queue has called imported.
    var imported: Set<SessionID> = []
    /// Files that the disk has let rot.
    var rotten: Set<AssetID> = []
    /// What must never happen and did.
    private var breaches: [String] = []

    var violations: [String] { breaches + clouds.keys.sorted().flatMap { clouds[$0]?.violations ?? [] } }

    init(plan: Plan) {
        self.plan = plan
        for host in Plan.hosts { clouds[host] = WorldCloud() }
    }

    /// What the child says; its body, if any, follows the line.
    struct Message {
        let words: [String]
        let body: [UInt8]

        /// Nil when the child ended in the middle of it.
        init?(_ descriptor: Int32) {
            guard let line = Lines.next(descriptor) else { return nil }
            words = line.split(separator: " ").map(String.init)
            guard words.first == "http" else {
                body = []
                return
            }
            guard let length = words.last.flatMap(Int.init), let bytes = Lines.bytes(length, from: descriptor)
            else { return nil }
            body = bytes
        }
    }

    /// Does what the message asks for, and answers it.
    mutating func handle(_ message: Message) -> [UInt8] {
        if message.words.first == "http", message.words.count == 6 { return request(message) }
        if message.words.first == "claim", take(Array(message.words.dropFirst())) {
            return Array("ok\n".utf8)
        }
        breaches.append("the child said: \(message.words.joined(separator: " "))")
        return Array("bad\n".utf8)
    }

    private mutating func take(_ words: [String]) -> Bool {
        switch (words.first, words.count) {
        case ("registered", 3):
            guard let number = Int(words[1]), let id = SessionID(words[2]) else { return false }
            registered[id] = number
        case ("cancelled", 2):
            guard let id = SessionID(words[1]) else { return false }
            cancelled.insert(id)
        case ("unwanted", 2):
            guard let id = AssetID(words[1]) else { return false }
            unwanted.insert(id)
        case ("stored", 5):
            guard let number = Int(words[1]), let session = SessionID(words[2]), let id = AssetID(words[3])
            else {
                return false
            }
            if let known = acknowledged[id], known.sha256 != words[4] {
                breaches.append("\(id) has two contents")
            }
            acknowledged[id] = Taken(number: number, session: session, sha256: words[4])
            let isFalsified = plan.fate(number) == .falsified
            for host in Plan.hosts { clouds[host]?.expect(words[4], isFalsified: isFalsified) }
        default: return false
        }
        return true
    }

    private mutating func request(_ message: Message) -> [UInt8] {
        let words = message.words
        guard let host = Plan.hosts.first(where: { words[2].hasPrefix($0 + "/") }) else {
            breaches.append("a request went to \(words[2])")
            return WorldCloud.Answer.failed(404).bytes
        }
        var fields: [String: String] = [:]
        for pair in words[4].split(separator: "&") {
            let parts = pair.split(separator: "=", maxSplits: 1).map(String.init)
            if parts.count == 2 { fields[parts[0]] = parts[1] }
        }
        let path = words[2].dropFirst(host.count + 1).split(separator: "?")[0].split(separator: "/").map(
            String.init)
        let request = WorldCloud.Request(
            method: words[1], path: path, token: words[3], fields: fields, body: message.body)
        let answer = clouds[host]?.handle(request) ?? .failed(500)
        checkUniqueness()
        return answer.bytes
    }

    /// One logical capture must not become two. What the user moved may have been sent in part before; that part stays.
    private mutating func checkUniqueness() {
        let moved = Set(acknowledged.values.filter { plan.fate($0.number) == .migrated }.map(\.sha256))
        let apart = clouds.values.map { $0.digests }
        for digests in apart + [apart.joined().filter { !moved.contains($0) }]
        where Set(digests).count != digests.count {
            if !breaches.contains(Self.twice) { breaches.append(Self.twice) }
        }
    }

    private static let twice = "the same bytes are in the cloud twice"
}
