import CaptureQueue

/// The recorder and the cloud of one torture, in the parent: what it was told is what the oracle knows.
struct World {
    struct Session {
        let remoteID: String
        var revision: Int64 = 1
        /// By client id: the remote id, SHA-256 and size.
        var assets: [String: (id: String, sha256: String, size: String)] = [:]
    }

    /// By client id, as the cloud has it.
    private(set) var sessions: [String: Session] = [:]
    /// The files that the recorder was allowed to forget, with their SHA-256.
    private(set) var acknowledged: [AssetID: String] = [:]
    /// Those whose bytes the user had removed.
    private(set) var unwanted: Set<AssetID> = []
    private(set) var registered: Set<SessionID> = []
    private(set) var imported: Set<SessionID> = []
    private(set) var cancelled: Set<SessionID> = []
    /// What must never happen and did.
    private(set) var violations: [String] = []
    private var lastID = 0

    /// Takes one line and answers it.
    mutating func handle(_ line: String) -> String {
        let words = line.split(separator: " ").map(String.init)
        guard let verb = words.first, words.count > 1 else { return bad(line) }
        switch (verb, words.count) {
        case ("registered", 2): SessionID(words[1]).map { _ = registered.insert($0) }
        case ("cancelled", 2): SessionID(words[1]).map { _ = cancelled.insert($0) }
        case ("imported", 2): SessionID(words[1]).map { _ = imported.insert($0) }
        case ("unwanted", 2): AssetID(words[1]).map { _ = unwanted.insert($0) }
        case ("stored", 3):
            guard let id = AssetID(words[1]) else { return bad(line) }
            if let known = acknowledged[id], known != words[2] { violations.append("\(id) has two contents") }
            acknowledged[id] = words[2]
        case ("upsert", 2): return upsert(words[1])
        case ("list", 2): return list(words[1])
        case ("init", 2): return "upload-\(words[1])"
        case ("chunk", 3): break
        case ("asset", 5): return asset(words)
        default: return bad(line)
        }
        return "ok"
    }

    private mutating func bad(_ line: String) -> String {
        violations.append("the child said: \(line)")
        return "bad"
    }

    private mutating func upsert(_ clientID: String) -> String {
        if sessions[clientID] == nil {
            lastID += 1
            sessions[clientID] = Session(remoteID: "s\(lastID)")
        } else {
            sessions[clientID]?.revision += 1
        }
        guard let session = sessions[clientID] else { return "bad" }
        return "\(session.remoteID) \(session.revision)"
    }

    private func list(_ clientID: String) -> String {
        guard let session = sessions[clientID] else { return "none" }
        let assets = session.assets.map { "\($0.key)=\($0.value.id)=\($0.value.sha256)=\($0.value.size)" }
        return (["\(session.remoteID)", "\(session.revision)"] + assets).joined(separator: " ")
    }

    private mutating func asset(_ words: [String]) -> String {
        let (session, clientID, size, sha256) = (words[1], words[2], words[3], words[4])
        guard let known = sessions[session] else {
            violations.append("a file for session \(session), which the cloud does not have")
            return "bad"
        }
        if let held = known.assets[clientID] {
            if held.sha256 != sha256 { violations.append("other bytes under the client id \(clientID)") }
            return "\(held.id) \(known.revision)"
        }
        // Two files in two sessions with the same bytes: one logical capture became two.
        if sessions.values.contains(where: { $0.assets.values.contains { $0.sha256 == sha256 } }) {
            violations.append("the bytes \(sha256) are in the cloud twice")
        }
        lastID += 1
        sessions[session]?.assets[clientID] = ("a\(lastID)", sha256, size)
        sessions[session]?.revision += 1
        return "a\(lastID) \((sessions[session]?.revision ?? 0))"
    }
}
