# SPDX-License-Identifier: MIT

noinst_HEADERS += %D%/subject.h

include %D%/ops/local.mk
include %D%/arena/local.mk
include %D%/gc/local.mk
