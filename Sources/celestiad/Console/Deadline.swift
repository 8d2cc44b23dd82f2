import Control

/// Runs `body`, for at most `limit`; throws what `body` throws, or `timeout` after `limit`.
func withDeadline<Value: Sendable>(
    _ limit: Duration?, _ message: String,
    _ body: @escaping @Sendable () async throws(ControlError) -> Value
) async throws(ControlError) -> Value {
    guard let limit else { return try await body() }
    let result = await withTaskGroup(of: Result<Value, ControlError>.self) { group in
        group.addTask {
            do throws(ControlError) { return .success(try await body()) } catch { return .failure(error) }
        }
        group.addTask {
            do { try await Task.sleep(for: limit) } catch {
                return .failure(ControlError(.cancelled, "cancelled"))
            }
            return .failure(ControlError(.timeout, message))
        }
        defer { group.cancelAll() }
        return await group.next() ?? .failure(ControlError(.failed, message))
    }
    return try result.get()
}
