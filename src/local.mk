# SPDX-License-Identifier: MIT

noinst_HEADERS += %D%/subject.h

include %D%/ops/local.mk
include %D%/arena/local.mk
include %D%/gc/local.mk
include %D%/subjects/local.mk
include %D%/lab/local.mk
include %D%/report/local.mk
include %D%/cli/local.mk
