// hiredis as a codec only: its reader (redisReader…) and its formatter (redisFormatCommandArgv).
#pragma once
#include <hiredis/hiredis.h>
