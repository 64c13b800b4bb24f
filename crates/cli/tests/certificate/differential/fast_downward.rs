//! Fast Downward, where it is installed: the driver named by `FAST_DOWNWARD`, or the one in the PyPI
//! package up-fast-downward.

use std::path::{Path, PathBuf};
use std::process::Command;

pub(crate) struct FastDownward {
    driver: PathBuf,
    build: PathBuf,
}

impl FastDownward {
    /// Says so if there is none.
    pub(crate) fn find() -> Option<FastDownward> {
        let named = std::env::var_os("FAST_DOWNWARD").map(PathBuf::from);
        let found = named.or_else(Self::of_python).filter(|driver| driver.exists());
        let found = found.and_then(|driver| {
            let build = driver.parent()?.join("builds/release");
            build.join("bin/downward").exists().then_some(FastDownward { driver, build })
        });
        if found.is_none() {
            eprintln!("SKIPPED: what needs Fast Downward (the PyPI package up-fast-downward)");
        }
        found
    }

    fn of_python() -> Option<PathBuf> {
        let script = "import up_fast_downward; print(up_fast_downward.__file__)";
        let output = Command::new("python3").args(["-c", script]).output().ok()?;
        let module = PathBuf::from(String::from_utf8(output.stdout).ok()?.trim());
        Some(module.parent()?.join("downward/fast-downward.py"))
    }

    /// The least cost of a plan of a `.sas` file, or why there is no answer.
    pub(crate) fn optimum(&self, folder: &Path, sas: &Path) -> Result<Option<u64>, String> {
        let input = std::fs::File::open(sas).map_err(|error| error.to_string())?;
        let search = ["--search", "astar(blind())", "--internal-plan-file", "fd_plan"];
        let output = Command::new(self.build.join("bin/downward"))
            .args(search)
            .current_dir(folder)
            .stdin(input)
            .output()
            .map_err(|error| error.to_string())?;
        let said = String::from_utf8_lossy(&output.stdout);
        let cost = said.lines().find_map(|line| line.split("Plan cost: ").nth(1)?.parse().ok());
        match (output.status.code(), cost) {
            (Some(0), Some(cost)) => Ok(Some(cost)),
            (Some(11 | 12), None) => Ok(None),
            (code, _) => {
                Err(format!("{code:?}: {said}{}", String::from_utf8_lossy(&output.stderr)))
            }
        }
    }

    /// Writes the translation of a PDDL task, or says why there is none.
    pub(crate) fn translate(
        &self,
        folder: &Path,
        domain: &Path,
        problem: &Path,
        sas: &Path,
    ) -> Result<(), String> {
        let output = Command::new("python3")
            .arg(&self.driver)
            .args(["--translate", "--sas-file"])
            .args([sas, domain, problem])
            .current_dir(folder)
            .output()
            .map_err(|error| error.to_string())?;
        match output.status.success() {
            true => Ok(()),
            false => Err(String::from_utf8_lossy(&output.stderr).into_owned()),
        }
    }
}
