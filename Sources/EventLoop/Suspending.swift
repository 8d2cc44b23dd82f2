/// Suspends until `body`'s continuation is resumed with a result, and keeps the error's type, which
/// `withCheckedThrowingContinuation` erases.
package func suspending<Value, Failure: Error>(
    isolation: isolated (any Actor)? = #isolation,
    _ body: (CheckedContinuation<Result<Value, Failure>, Never>) -> Void
) async throws(Failure) -> sending Value where Value: Sendable {
    try await withCheckedContinuation(isolation: isolation, body).get()
}
