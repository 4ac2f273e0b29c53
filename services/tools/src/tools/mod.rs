//! The tools that come with the program, one file each.

mod check_disk_space;
mod check_service_status;
mod echo;
mod list_processes;
mod search;

pub use check_disk_space::CheckDiskSpace;
pub use check_service_status::CheckServiceStatus;
pub use echo::Echo;
pub use list_processes::ListProcesses;
pub use search::Search;
