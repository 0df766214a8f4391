// Files that are being written when the process is told to end.
#pragma once

namespace sdx {

// Deletes the files that writers of this process have begun and not committed. For a handler of
// signals: it calls nothing that such a handler may not.
void remove_unfinished_files();

}  // namespace sdx
