extension ObjectTransferClient {
    /// Lists the objects of the server: by the directory listing object, or by stepping through the list
    /// where there is none. Every object has its size afterwards, and there are at most
    /// ``DirectoryListing/maximumObjects``. Throws `tooLarge` for a listing that cannot be one.
    package func list(via channel: any DataChannel) async throws(ObjectTransferError) -> DirectoryListing {
        guard features.lists.contains(.goTo) else { return try await step() }
        do throws(ObjectTransferError) {
            var listing = try await readDirectory(via: channel)
            // It may have grown between the reads of its size and of its bytes.
            if listing.isTruncated { listing = try await readDirectory(via: channel) }
            // A record that cannot be read hides all that follow it; the objects themselves are not in doubt.
            if listing.isDamaged, let stepped = try await steppedInstead() { listing = stepped }
            return try await completed(listing)
        } catch {
            switch error.code {
            case .list(.objectIDNotFound), .list(.opcodeNotSupported), .list(.invalidParameter):
                return try await step()
            default:
                throw error
            }
        }
    }

    /// What stepping tells; nil when the server does not step.
    private func steppedInstead() async throws(ObjectTransferError) -> DirectoryListing? {
        do throws(ObjectTransferError) {
            return try await step()
        } catch {
            guard !error.endsLink else { throw error }
            return nil
        }
    }

    private func readDirectory(
        via channel: any DataChannel
    ) async throws(ObjectTransferError) -> DirectoryListing {
        try await select(.directory)
        // The server makes the listing when it is selected, so the size counts only after that.
        let size = try ObjectSize(wire: try await readAttribute(ObjectTransferService.objectSize)).current
        guard size <= DirectoryListing.maximumBytes else {
            throw ObjectTransferError(.tooLarge, "a directory listing of \(size) bytes")
        }
        return DirectoryListing(wire: try await readAll(size, via: channel))
    }

    /// Asks for the sizes that the listing left out.
    private func completed(
        _ listing: DirectoryListing
    ) async throws(ObjectTransferError) -> DirectoryListing {
        var listing = listing
        for object in listing.objects where object.currentSize == nil {
            do throws(ObjectTransferError) {
                listing.replace(try await metadata(of: object.id))
            } catch {
                guard !error.endsLink else { throw error }
                listing.remove(object.id, because: error)
            }
        }
        return listing
    }

    private func step() async throws(ObjectTransferError) -> DirectoryListing {
        var listing = DirectoryListing()
        var request = ObjectListRequest.first
        // One step more than there may be objects, for the directory itself.
        for _ in 0...DirectoryListing.maximumObjects + 1 {
            let response = try await perform(request)
            switch response.result {
            case .success: break
            case .outOfBounds, .noObject: return listing
            default:
                throw ObjectTransferError(
                    .list(response.result),
                    "stepping through the list: the server answered \(response.result)")
            }
            guard listing.addStepped(try await readMetadata()) else { return listing }
            request = .next
        }
        return listing
    }
}
