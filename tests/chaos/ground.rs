//! Where the crawl's data folder lies: a small disk of its own, a tmpfs in a mount namespace that ends with this process,
//! and a file that fills it on command. Without the right to mount, an ordinary folder that never runs full.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use tempfile::TempDir;

use crate::support::program::{command, eventually};

pub struct Ground {
    folder: TempDir,
    /// Holds the namespace until its standard input closes.
    keeper: Option<Child>,
}

const MOUNT: &str = r#"mount -t tmpfs -o size="$2" tmpfs "$1" && touch "$1/mounted" && exec cat >/dev/null"#;

impl Ground {
    /// `size`: of the disk, as mount takes it.
    pub fn new(size: &str) -> Ground {
        let folder = tempfile::tempdir().expect("a temporary folder");
        std::fs::create_dir(folder.path().join("disk")).expect("a folder of ours");
        let may_mount = Command::new("unshare").args(["-m", "true"]).status().is_ok_and(|status| status.success());
        let mut ground = Ground { folder, keeper: None };
        if !may_mount {
            println!("SKIPPED: full disks: no right to make a mount namespace (unshare -m); run this as root");
            return ground;
        }
        let mut keeper = Command::new("unshare");
        keeper.args(["-m", "sh", "-c", MOUNT, "sh"]).arg(ground.folder.path().join("disk")).arg(size);
        ground.keeper = Some(keeper.stdin(Stdio::piped()).spawn().expect("unshare is there"));
        eventually("the disk is mounted", || ground.seen("mounted").exists());
        ground
    }

    pub fn can_be_full(&self) -> bool {
        self.keeper.is_some()
    }

    /// The data folder, as the crawl knows it.
    pub fn data(&self) -> PathBuf {
        self.folder.path().join("disk/data")
    }

    /// A file below the disk's root, as this process reaches it.
    fn seen(&self, name: &str) -> PathBuf {
        let path = self.folder.path().join("disk").join(name);
        match &self.keeper {
            None => path,
            Some(keeper) => {
                Path::new("/proc").join(keeper.id().to_string()).join("root").join(path.strip_prefix("/").unwrap())
            }
        }
    }

    /// The data folder, as this process reaches it.
    pub fn data_seen(&self) -> PathBuf {
        self.seen("data")
    }

    /// A file that is not on the small disk.
    pub fn beside(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// The program, started so that it sees the small disk.
    pub fn seine<A: AsRef<OsStr>>(&self, arguments: &[A]) -> Command {
        let plain = command(arguments);
        let Some(keeper) = &self.keeper else { return plain };
        let mut inside = Command::new("nsenter");
        inside.args(["-m", "-t", &keeper.id().to_string(), "--"]).arg(plain.get_program()).args(plain.get_args());
        for (name, value) in plain.get_envs() {
            match value {
                Some(value) => inside.env(name, value),
                None => inside.env_remove(name),
            };
        }
        inside.stdin(Stdio::null());
        inside
    }

    /// Not a byte is left when it returns.
    pub fn fill(&self) {
        let mut filler = File::create(self.seen("filler")).expect("a file can be made");
        let zeros = vec![0; 1 << 20];
        let full = |size| std::iter::repeat(()).find_map(|()| filler.write_all(&zeros[..size]).err());
        for error in [1 << 20, 1].map(full).into_iter().flatten() {
            assert_eq!(error.kind(), ErrorKind::StorageFull, "{error}");
        }
    }

    pub fn free(&self) {
        std::fs::remove_file(self.seen("filler")).expect("it was full");
    }

    /// Keeps all files, to find the reason of a failure, and prints where they are.
    pub fn keep(&self) -> PathBuf {
        let kept = std::env::temp_dir().join(format!("seine-chaos-{}", std::process::id()));
        let copied = Command::new("cp").arg("-r").arg(self.data_seen()).arg(&kept).status();
        assert!(copied.expect("cp is there").success());
        kept
    }
}

impl Drop for Ground {
    fn drop(&mut self) {
        if let Some(mut keeper) = self.keeper.take() {
            drop(keeper.stdin.take());
            let _ = keeper.wait();
        }
    }
}
