internal import DBus

/// The pairing agents that clients registered, one for each connection.
struct AgentRegistry {
    struct Agent: Sendable, Hashable {
        let sender: String
        let path: ObjectPath
        let capability: String
    }

    private static let capabilities: Set<String> = [
        "", "DisplayOnly", "DisplayYesNo", "KeyboardOnly", "NoInputNoOutput", "KeyboardDisplay",
    ]

    private var agents: [Agent] = []
    /// The senders in the order in which they became the default.
    private var defaults: [String] = []

    mutating func register(_ path: ObjectPath, _ capability: String, _ sender: String) throws(DBusError) {
        guard Self.capabilities.contains(capability) else { throw .invalidArguments }
        guard !agents.contains(where: { $0.sender == sender }) else { throw .alreadyExists }
        let kind = capability.isEmpty ? "KeyboardDisplay" : capability
        agents.append(Agent(sender: sender, path: path, capability: kind))
        if defaults.isEmpty { defaults = [sender] }
    }

    mutating func unregister(_ path: ObjectPath, _ sender: String) throws(DBusError) {
        guard agents.contains(where: { $0.sender == sender && $0.path == path }) else { throw .doesNotExist }
        remove(sender)
    }

    mutating func makeDefault(_ path: ObjectPath, _ sender: String) throws(DBusError) {
        guard agents.contains(where: { $0.sender == sender && $0.path == path }) else { throw .doesNotExist }
        defaults.removeAll { $0 == sender }
        defaults.append(sender)
    }

    mutating func remove(_ sender: String) {
        agents.removeAll { $0.sender == sender }
        defaults.removeAll { $0 == sender }
    }

    /// The caller's own agent, else the default one, else none (BlueZ agent.c, agent_get).
    func agent(for sender: String) -> Agent? {
        agents.first { $0.sender == sender } ?? agents.first { $0.sender == defaults.last }
    }
}
