import Glibc
import Synchronization

/// Places at which a test has the process killed, as a power switch would: no handler runs, nothing is flushed.
///
/// `CELESTIAD_FAILPOINT=NAME` kills at the first time that the place is reached, `NAME:N` at the N-th, and `any:N` at
/// the N-th place of whatever name. Only debug builds look at it; in a release build there is nothing of this.
package enum Failpoint {
    #if DEBUG
        private static let plan: (name: String, count: Int)? = {
            guard let text = getenv("CELESTIAD_FAILPOINT").map({ String(cString: $0) }) else { return nil }
            let parts = text.split(separator: ":")
            guard let name = parts.first else { return nil }
            return (String(name), parts.count > 1 ? Int(parts[1]) ?? 1 : 1)
        }()
        private static let reached = Atomic<Int>(0)

        /// Dies here if that is what the test wants.
        package static func reach(_ name: StaticString) {
            guard let plan, plan.name == "any" || plan.name == name.description else { return }
            if reached.add(1, ordering: .relaxed).newValue >= plan.count { kill(getpid(), SIGKILL) }
        }
    #else
        @inline(__always) package static func reach(_ name: StaticString) {}
    #endif
}
