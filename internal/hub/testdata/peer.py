"""huggingface_hub as a client of the Hub of internal/testing/fakes, called by hone's TestPeer: peer.py WHAT ARGUMENT...

Needs: requirements.txt
"""

import json
import os
import sys
from pathlib import Path

from huggingface_hub import HfApi, ModelCard, CommitOperationAdd, CommitOperationDelete, hf_hub_download, scan_cache_dir, snapshot_download
from huggingface_hub.errors import GatedRepoError, LocalEntryNotFoundError, RepositoryNotFoundError, RevisionNotFoundError
from huggingface_hub.utils import WeakFileLock


def files(folder):
    return {str(p.relative_to(folder)): p.read_text() for p in Path(folder).rglob("*") if p.is_file()}


def upload(kind, repo, folder):
    api = HfApi()
    api.create_repo(repo, repo_type=kind, exist_ok=True)
    done = api.upload_folder(repo_id=repo, repo_type=kind, folder_path=folder)
    api.create_repo(repo, repo_type=kind, exist_ok=True)  # which is there
    api.create_commit(repo, repo_type=kind, commit_message="one less, one more", operations=[
        CommitOperationDelete("a b#?.txt"), CommitOperationAdd("more.txt", b"more")])
    return {"oid": done.oid, "files": sorted(api.list_repo_files(repo, repo_type=kind))}


def snapshot(kind, repo):
    return files(snapshot_download(repo, repo_type=kind))


def offline(kind, repo):
    """Reads a cache that hone made."""
    one = hf_hub_download(repo, "config.json", repo_type=kind, local_files_only=True)
    scan = scan_cache_dir()
    assert not scan.warnings, scan.warnings
    assert [r.repo_id for r in scan.repos] == [repo], scan.repos
    return {"one": Path(one).read_text(), **files(snapshot_download(repo, repo_type=kind, local_files_only=True))}


def refused():
    out = []
    for repo, revision, want in [("org/none", None, RepositoryNotFoundError), ("org/gated", None, GatedRepoError), ("org/open", "v9", RevisionNotFoundError)]:
        try:
            snapshot_download(repo, revision=revision)
        except want as e:
            out.append(type(e).__name__)
        except LocalEntryNotFoundError as e:
            out.append(type(e.__cause__).__name__)
            assert isinstance(e.__cause__, want), e.__cause__
    return out


def card(path):
    x = ModelCard.load(path)
    x.validate()
    return x.data.to_dict()


def lock(path):
    """Holds a lock of the cache until a line comes."""
    with WeakFileLock(path):
        print("held", flush=True)
        sys.stdin.readline()


if sys.argv[1] == "lock":
    lock(sys.argv[2])
else:
    print(json.dumps(globals()[sys.argv[1]](*sys.argv[2:])))
